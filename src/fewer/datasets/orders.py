"""Made-up orders of a shop: a line for each product of an order."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import as_generator, as_integer

KITS = 25


def orders(
    n_orders: int = 5000, n_products: int = 60, rng: Any = None
) -> dict[str, npt.NDArray[Any]]:
    """Columns of a long table, by name: `order_id`, `sku` and `quantity`.

    Orders come in kits: each customer buys most of one of 25 kits of three to six products, and now
    and then more.

    Examples
    --------
    >>> lines = orders(1000, 30, rng=0)
    >>> sorted(lines), lines["sku"][:2].tolist(), len(set(lines["order_id"].tolist()))
    (['order_id', 'quantity', 'sku'], ['P000', 'P023'], 1000)
    """
    n_orders, n_products = (
        as_integer(n_orders, "n_orders", 1),
        as_integer(n_products, "n_products", 6),
    )
    generator, _ = as_generator(rng)
    kits = [
        generator.choice(n_products, generator.integers(3, 7), replace=False) for _ in range(KITS)
    ]
    popularity = generator.dirichlet(np.full(len(kits), 0.8))
    lines: list[tuple[int, str, int]] = []
    for order, kit in enumerate(generator.choice(len(kits), n_orders, p=popularity)):
        own = kits[kit][generator.random(len(kits[kit])) < 0.9]
        bought = {*own, *generator.choice(n_products, generator.binomial(2, 0.1))} or {kits[kit][0]}
        lines += [
            (100_000 + order, f"P{product:03d}", int(generator.integers(1, 4)))
            for product in sorted(bought)
        ]
    order_id, sku, quantity = zip(*lines, strict=True)
    return {
        "order_id": np.array(order_id),
        "sku": np.array(sku, object),
        "quantity": np.array(quantity),
    }
