"""The campaign behind `make soak`: seeded cases that try to break what the package promises.

A part is a module with `NAME`, `case(rng) -> (description, problems)` and, where the defaults of
`soak.parts` do not fit, `SHARE` (of the time), `SECONDS` (after which a case counts as hanging) and
`ALONE` (a failure is repeated with nothing else running before it counts).
"""
