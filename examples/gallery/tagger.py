"""A chain CRF on sentences: the probability of each tag at each word."""

import numpy as np
from style import drawn, save

import fenchel

rng = np.random.default_rng(0)
LEXICON = {
    "DET": "the a this".split(),
    "ADJ": "old small light".split(),
    "NOUN": "dog cat man light park saw".split(),
    "VERB": "saw barks sleeps walks light".split(),
}
SHAPES = ["DET NOUN VERB", "DET ADJ NOUN VERB", "DET NOUN VERB DET NOUN"]


def sentence():
    tags = rng.choice(SHAPES).split()
    return [str(rng.choice(LEXICON[tag])) for tag in tags], tags


def features(words):
    return [{"word": w, "end": w[-1], "first": t == 0} for t, w in enumerate(words)]


sentences = [sentence() for _ in range(300)]
X, y = [features(words) for words, _ in sentences], [tags for _, tags in sentences]
model = fenchel.SequenceLabeler(loss="crf", alpha=1e-3).fit(X[:200], y[:200])
right = np.mean(np.concatenate(model.predict(X[200:])) == np.concatenate(y[200:]))
print(f"{model.status_}, gap {model.gap_:.0e}: {right:.0%} of new tags are right")

words = "the old light saw the man".split()
tags, marginals = model.predict([features(words)])[0], model.predict_marginals([features(words)])[0]
print(*(f"{word}/{tag}" for word, tag in zip(words, tags, strict=True)))
figure, axes = drawn(height=2.6)
axes.imshow(marginals.T, cmap="Blues", vmin=0, vmax=1, aspect="auto")
axes.set_xticks(range(len(words)), words)
axes.set_yticks(range(len(model.classes_)), model.classes_)
for (t, k), p in np.ndenumerate(marginals):
    axes.text(t, k, f"{p:.2f}", ha="center", va="center", color="white" if p > 0.6 else "black")
axes.set_title('"light" and "saw" are nouns and verbs: the chain decides')
save(figure, "tagger.svg")
