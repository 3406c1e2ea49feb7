"""Sentences of the library in the words of the command line: arguments of functions as options."""

import re

ARGUMENTS = (
    (re.compile(r"are values: bins\(x, k\)"), "are values: leave --counts away"),
    (re.compile(r"columns=\{(?:'([^']*)'|\"([^\"]*)\"): 'ignore'\}"), r"--ignore \1\2"),
    (re.compile(r"columns=\{(?:'([^']*)'|\"([^\"]*)\"): '(\w+)'\} or 'ignore'"), r"--columns \1\2:\3 or --ignore \1\2"),
    (re.compile(r"columns=\{(?:'([^']*)'|\"([^\"]*)\"): '(\w+)'\}"), r"--columns \1\2:\3"),
    (re.compile(r"exclude=\[(?:'([^']*)'|\"([^\"]*)\")\]"), r"--exclude \1\2"),
    (re.compile(r"\bmissing=(['\"])(\w+)\1"), r"--missing \2"),
)
"""How the library names what a user may say, and how the options do."""
CHOICES = re.compile(r"--missing \w+(?:, '\w+')* or '\w+'")
"""Several values of one argument: missing='drop', 'impute' or 'category'."""


def in_options(text: str) -> str:
    """A sentence with options where the library has arguments.

    >>> in_options("row 7; use missing='drop', 'impute' or 'category', or columns={'age': 'ignore'}")
    'row 7; use --missing drop, impute or category, or --ignore age'
    >>> in_options("row 3: expected a label; columns={'size': 'category'} takes it")
    'row 3: expected a label; --columns size:category takes it'
    """
    for argument, option in ARGUMENTS:
        text = argument.sub(option, text)
    return CHOICES.sub(lambda found: found[0].replace("'", ""), text)
