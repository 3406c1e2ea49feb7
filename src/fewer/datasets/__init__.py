"""Data to try things on: generators here, loaders of public data beside them."""

from .customers import customers
from .synthetic import baskets

__all__ = ["baskets", "customers"]
