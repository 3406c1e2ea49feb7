"""A job studied on one data set: answers for one or several k, their errors, and what baselines need."""
