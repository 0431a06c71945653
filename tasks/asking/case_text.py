"""The text of a true/false question about a case: the case, then the statement on a line of its own.

A text without a case is the statement alone.
"""

_MARK = '\nStatement: "'


def join_case(case: str, statement: str) -> str:
    """Return the text of a true/false question: the case, and below it the statement in quotation marks.

    The statement holds no straight double quotation mark, so that :func:`quote_statement` finds its ends.
    """
    return f'{case}{_MARK}{statement}"' if case else statement


def quote_statement(text: str) -> str:
    """Return the text of a true/false question as a prompt shows it, with its statement in quotation marks.

    The prompt goes on after it: ", is the statement above true or false?"
    """
    return text if _MARK in text else f'{_MARK.lstrip()}{text}"'
