"""A job studied on one data set: answers for one or several k, what they lose, and what simple rivals would need."""

from .bins import BinsProblem
from .dims import DimsProblem
from .study import Answer, Problem, Study, study
from .terms import TermsProblem

__all__ = ["Answer", "BinsProblem", "DimsProblem", "Problem", "Study", "TermsProblem", "study"]
