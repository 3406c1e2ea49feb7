"""A job studied on one data set: answers for one or several k, what they lose, and what simple rivals would need."""
