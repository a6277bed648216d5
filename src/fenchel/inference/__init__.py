"""Statistics of fits without a penalty: standard errors, tests, intervals, likelihoods."""
