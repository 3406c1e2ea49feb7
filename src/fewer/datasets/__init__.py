"""Data to try things on, made up by generators of random numbers."""

from .customers import customers
from .latencies import latencies
from .orders import orders
from .prices import prices
from .synthetic import baskets

__all__ = ["baskets", "customers", "latencies", "orders", "prices"]
