"""
Twenty digits for 1,797
=======================

Test.
"""

import matplotlib.pyplot as plt

plt.plot([1, 2])
