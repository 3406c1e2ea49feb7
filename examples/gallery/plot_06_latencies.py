"""
A million latencies in fifty values
===================================

Fifty weighted values answer most questions that people ask about latencies, and they fit in a
message. They are proven optimal: no other fifty values come nearer to the cumulative distribution,
in squared difference.
"""

import matplotlib.pyplot as plt
import numpy as np

from fewer import bins
from fewer.datasets import latencies

ms = latencies(1_000_000, rng=0)
result = bins(ms, 50)
kept = result.distribution
result

# %%
# The grey line is all values, the steps are the fifty. Beyond the 99.9th percentile the tail rests
# on a single value.

levels = np.linspace(0, 1, 2000)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
left.plot(np.quantile(ms, levels), levels, color="0.7", lw=5, label="1,000,000 values")
left.step(kept.values, kept.cdf(kept.values), where="post", color="C3", label="50 values")
left.set(xscale="log", xlabel="milliseconds", ylabel="share at or below")
left.legend(frameon=False)
tail = 1 - np.geomspace(0.1, 1e-4, 200)
right.plot(1 - tail, np.quantile(ms, tail), color="0.7", lw=5)
right.plot(1 - tail, kept.quantile(tail, spread=True), color="C3")
right.set(xscale="log", yscale="log", xlabel="share above", ylabel="milliseconds", title="The tail")
right.invert_xaxis()
figure.tight_layout()
plt.show()

# %%
# In numbers. The file has everything: values, weights, and the range that each value stands for.

print(f"mean {ms.mean():.2f}, kept {kept.mean():.2f}")
for q in (0.5, 0.9, 0.99, 0.999):
    print(f"p{100 * q:g} {np.quantile(ms, q):.1f}, kept {kept.quantile(q, spread=True):.1f}")
print(f"{len(kept.to_json()):,} characters of JSON in place of {ms.nbytes:,} bytes")
