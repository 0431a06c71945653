"""Stage predictions: responses read as true, false or no answer, and judged (method, section 3)."""

import polars as pl

from schemas.stages import PREDICTIONS
from tasks.extraction import cut_completion, extract_answer


def judge_responses(
    requests: pl.DataFrame, responses: pl.DataFrame, labels: pl.DataFrame, policy: str = "strict"
) -> pl.DataFrame:
    """One row per request: the prediction of its response, and whether it equals the label.

    Under the policy `strict` no answer is wrong.

    Args:
        responses: prompt_key, repeat, response; prompts that failed have a null response.
        labels: sample_id, label.
    """
    is_chat = (requests["prompt_style"] == "chat").any()
    answers = {
        text: extract_answer(text if is_chat else cut_completion(text))
        for text in responses["response"].unique()
    }
    return (
        requests.join(responses, on=["prompt_key", "repeat"], how="left", maintain_order="left")
        .join(labels, on="sample_id", how="left", maintain_order="left")
        .with_columns(
            pl.lit(policy).alias("scoring_policy"),
            pl.col("response")
            .replace_strict(answers, default=None, return_dtype=pl.Boolean)
            .alias("prediction"),
        )
        .with_columns((pl.col("prediction") == pl.col("label")).fill_null(False).alias("is_correct"))
        .select(PREDICTIONS.names)
    )
