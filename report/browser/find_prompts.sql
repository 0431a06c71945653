-- The replies, each with the hash of its prompt.
create or replace temp table browsed_asked as
select replies.*, stored.prompt_hash
from browsed_replies as replies
left join storage.responses as stored
    on stored.model_id = $model_id and replies.prompt_key = stored.prompt_key and replies.repeat = stored.repeat
