"""One row in twenty is positive: a model trained for F1 beside logistic regression, and what each
threshold would give."""

import numpy as np
from sklearn.metrics import f1_score
from style import BLUE, ORANGE, drawn, save

import fenchel

rng = np.random.default_rng(3)
X = rng.normal(size=(6000, 6))
hidden = X @ [1.0, -1.0, 2.0, 0.0, 0.0, 0.5] + rng.normal(size=6000)
y = np.where(hidden > 4.4, 1, 0)
X[:, 3] += 3.0 * (rng.random(6000) < 0.05)  # some rows lie far out
train, test = slice(0, 3000), slice(3000, 6000)

direct = fenchel.MetricClassifier(metric="f1", alpha=1e-5).fit(X[train], y[train])
logistic = fenchel.Classifier(loss="logistic", alpha=1e-5).fit(X[train], y[train])
for name, model in (("trained for F1", direct), ("logistic", logistic)):
    print(f"{name}: F1 {f1_score(y[test], model.predict(X[test])):.2f}, gap {model.gap_:.0e}")

figure, axes = drawn(height=3.2)
shares = np.linspace(0.01, 0.15, 60)
for model, colour, name in ((direct, BLUE, "trained for F1"), (logistic, ORANGE, "logistic")):
    scores = model.decision_function(X[test])
    cuts = np.quantile(scores, 1 - shares)
    axes.plot(100 * shares, [f1_score(y[test], scores > cut) for cut in cuts], colour, label=name)
    chosen = np.mean(model.predict(X[test]) == 1)
    axes.axvline(100 * chosen, color=colour, linestyle=":", linewidth=1)
axes.set(xlabel="rows called positive, %; dotted: where each model cuts", ylabel="F1 on test rows")
axes.legend(frameon=False)
save(figure, "rare_class.svg")
