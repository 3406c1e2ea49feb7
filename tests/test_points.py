"""points: the job and its two estimators, against enumeration, dense algebra, repeated rows and bad input."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import FewerPoints, PointsClassifier


@parametrize_with_checks(
    [FewerPoints(), FewerPoints(k=3, solver="greedy", similarity="laplace"), PointsClassifier(k=20)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
