"""Models with a loss or a penalty of the user's own class: saved by its name, loaded if allowed."""

import copy
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from forged import forge, taken_apart
from models import X

import fenchel
from fenchel.losses import Conjugable, Labels, ScalarLoss
from fenchel.model.file import header
from fenchel.regularizers import L2
from fenchel.solvers import BMRM

Y = X[:, 0] - X[:, 1]


class Pinball(ScalarLoss):
    """l(z, y) = max(q (y - z), (1 - q) (z - y)) at a level that is one of several."""

    nonnegative = True

    def __init__(self, levels=(0.5,), which=0):
        self.levels, self.which = np.asarray(levels, dtype=np.float64), which

    def value(self, z, y):
        q = self.levels[self.which]
        return np.maximum(q * (y - z), (1 - q) * (z - y))

    def slope(self, z, y):
        q = self.levels[self.which]
        return np.where(z < y, -q, 1 - q)


class Ridge(L2):
    """L2 with columns that are left out, by their places."""

    def __init__(self, free):
        weights = np.ones(X.shape[1])
        weights[free] = 0
        super().__init__(weights)
        self.places = np.asarray(free)

    def settings(self):
        return {"free": self.places}


class Forgetful(Pinball):
    """Its constructor keeps something to itself."""

    def __init__(self, secret=1):
        super().__init__()


class Strict(Pinball):
    """Refuses what it does not like."""

    def __init__(self, level=0.5):
        if not 0 < level < 1:
            raise ValueError("level must lie in (0, 1)")
        super().__init__([level])
        self.level = level


class Outer:
    """Has a loss inside."""

    class Inner(Pinball):
        """A loss with a longer name."""


LOSS = f"{__name__}:Pinball"


def fitted(loss=None, **settings):
    return fenchel.Regressor(loss=loss or Pinball([0.2, 0.8], 1), **settings).fit(X, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.fenchel"


@pytest.fixture
def saved(path):
    fenchel.save(fitted(), path)
    return path


def altered(path, **changes):
    """Makes a file say something else of its loss."""
    described, arrays = taken_apart(path.read_bytes())
    described["parameters"]["loss"].update(changes)
    path.write_bytes(forge(described, arrays))


# What is allowed comes back.


@pytest.mark.parametrize("allow", [[Pinball], [LOSS], [LOSS, "never.imported:Thing"]], ids=str)
def test_a_loss_that_is_allowed_comes_back(allow, saved):
    loaded = fenchel.load(saved, allow=allow)
    assert type(loaded.loss) is Pinball
    assert (loaded.loss.levels.tolist(), loaded.loss.which) == ([0.2, 0.8], 1)
    assert loaded.predict(X).tobytes() == fitted().predict(X).tobytes()
    assert loaded.result_.w.tobytes() == fitted().result_.w.tobytes()
    again = saved.with_name("again")
    fenchel.save(loaded, again)
    assert again.read_bytes() == saved.read_bytes()


def test_a_penalty_that_is_allowed_comes_back_with_whole_numbers_whole(path):
    model = fenchel.Regressor(penalty=Ridge([1, 3]), alpha=0.1).fit(X, Y)
    fenchel.save(model, path)
    with pytest.raises(fenchel.InvalidData, match=r"penalty .*Ridge.*allow="):
        fenchel.load(path)
    loaded = fenchel.load(path, allow=[Ridge])
    assert loaded.penalty.weights.tolist() == [1, 0, 1, 0, 1, 1]
    assert loaded.penalty.places.dtype == np.int64
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()


def test_a_class_inside_a_class_has_a_name_too(path):
    fenchel.save(fitted(Outer.Inner()), path)
    assert type(fenchel.load(path, allow=[f"{__name__}:Outer.Inner"]).loss) is Outer.Inner


def test_a_file_is_loaded_by_a_process_that_has_to_import_the_class(
    tmp_path, monkeypatch, own_module
):
    module = tmp_path / "my_losses.py"
    module.write_text(
        textwrap.dedent(
            """
            import numpy as np
            from fenchel.losses import ScalarLoss

            class Half(ScalarLoss):
                nonnegative = differentiable = True

                def __init__(self, scale=1.0):
                    self.scale = scale

                def value(self, z, y):
                    return self.scale * (z - y) ** 2 / 2

                def slope(self, z, y):
                    return self.scale * (z - y)
            """
        )
    )
    script = """
        import sys
        import fenchel
        path, *allow = sys.argv[1:]
        try:
            model = fenchel.load(path, allow=allow)
        except fenchel.InvalidData as error:
            print(error)
        else:
            print(model.loss)
        print("my_losses" in sys.modules)
    """
    monkeypatch.syspath_prepend(tmp_path)
    from my_losses import Half

    fenchel.save(fitted(Half(2.0)), tmp_path / "model")

    def loading(*allow):
        command = [sys.executable, "-c", textwrap.dedent(script), tmp_path / "model", *allow]
        where = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": where}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert loading("my_losses:Half") == ["Half(scale=2.0)", "True"]
    refusal, imported = loading("my_losses:Other")
    assert "allow=['my_losses:Half']" in refusal
    assert imported == "False"


def test_the_header_tells_the_name_of_the_class(saved):
    assert header(saved).parameters["loss"].name == LOSS


# What is not allowed, or is no loss, is refused.


@pytest.mark.parametrize("allow", [[], [Strict], ["os:system"], [f"{__name__}:pinball"]], ids=str)
def test_what_is_not_allowed_is_refused_with_a_remedy(allow, saved):
    with pytest.raises(fenchel.InvalidData, match="allow=") as caught:
        fenchel.load(saved, allow=allow)
    assert str(saved) in str(caught.value)
    assert f"allow=['{LOSS}']" in str(caught.value)


def test_a_module_that_is_not_allowed_is_never_imported(saved):
    altered(saved, name="antigravity:Loss", settings={})
    with pytest.raises(fenchel.InvalidData, match="antigravity:Loss"):
        fenchel.load(saved)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("os:system", "no Loss"),
        ("pathlib:Path", "no Loss"),
        ("fenchel.regularizers:L2", "no Loss"),
        ("subprocess:Popen", "no Loss"),
        ("os:no_such_thing", "cannot be imported"),
        ("no_such_module:Loss", "cannot be imported"),
        ("os:", "cannot be imported"),
        (":Loss", "cannot be imported"),
        ("fenchel.losses:ScalarLoss", "cannot be made"),
    ],
)
def test_a_name_that_leads_to_no_loss_is_refused_even_if_it_is_allowed(name, words, saved):
    altered(saved, name=name, settings={})
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.load(saved, allow=[name])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"settings": {"levels": 0.5, "where": 1}}, "cannot be made"),
        ({"settings": {"args": None}}, "cannot be made"),
        ({"name": f"{__name__}:Strict", "settings": {"level": 2.0}}, "level must lie"),
        ({"kind": "penalty"}, "no Regularizer"),
        ({"kind": "solver"}, "Invalid enum"),
        ({"kind": "code"}, "Invalid enum"),
        ({"name": "x" * 1001}, "length <= 1000"),
        ({"type": "pickle"}, "Invalid value"),
        ({"more": 1}, "unknown field"),
    ],
    ids=str,
)
def test_forged_settings_are_refused(changes, words, saved):
    altered(saved, **changes)
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.load(saved, allow=[Pinball, Strict])


def test_whole_numbers_that_are_none_are_refused(saved):
    described, arrays = taken_apart(saved.read_bytes())
    described["parameters"]["loss"]["settings"]["levels"]["whole"] = True
    saved.write_bytes(forge(described, arrays))
    with pytest.raises(fenchel.InvalidData, match=r"'loss.levels' must be int64"):
        fenchel.load(saved, allow=[Pinball])


@pytest.mark.parametrize("allow", [Pinball, LOSS, [3], ["Pinball"], [None]], ids=str)
def test_an_allow_that_makes_no_sense_is_refused(allow, saved):
    with pytest.raises(fenchel.Incompatible, match="allow must"):
        fenchel.load(saved, allow=allow)


# What cannot be saved.


def test_a_class_that_nobody_can_import_is_refused(path, monkeypatch):
    class Local(Pinball):
        pass

    def refused(words):
        with pytest.raises(fenchel.InvalidData, match=rf"{words}.*pickle or joblib"):
            fenchel.save(model, path)
        assert not path.exists()

    model = fitted(Local())
    refused(r"loss is Local\(.*inside a function")
    for name, words in [
        ("__main__", "move the class into a module"),
        ("no_such_module", "cannot be imported"),
        ("fenchel.losses", "cannot be imported"),
    ]:
        monkeypatch.setattr(Strict, "__module__", name)
        model = fitted(Strict())
        refused(words)


def test_a_class_that_another_has_the_name_of_is_refused(path, monkeypatch):
    model = fitted(Strict())
    monkeypatch.setattr(sys.modules[__name__], "Strict", Pinball)
    with pytest.raises(fenchel.InvalidData, match="leads to something else"):
        fenchel.save(model, path)


def test_a_setting_that_the_object_does_not_keep_is_refused(path):
    with pytest.raises(fenchel.InvalidData, match=r"'secret'.*self\.secret"):
        fenchel.save(fitted(Forgetful()), path)


def test_a_setting_that_a_file_cannot_hold_is_refused(path):
    loss = Pinball()
    loss.which = print
    model = copy.copy(fitted())
    model.loss = loss
    with pytest.raises(fenchel.InvalidData, match=r"loss\.which is <built-in"):
        fenchel.save(model, path)


class Mine(BMRM):
    """A solver of the user's own."""


def test_a_solver_of_the_users_own_is_refused_with_a_remedy(path):
    model = fenchel.Regressor(loss="absolute_error", solver=Mine()).fit(X, Y)
    with pytest.raises(fenchel.InvalidData, match=r"solver is Mine.*solver='auto'"):
        fenchel.save(model, path)


def test_losses_of_other_kinds_are_saved_too(path):
    class_loss = Margin(0.5)
    model = fenchel.Classifier(loss=class_loss).fit(X, Y > 0)
    fenchel.save(model, path)
    loaded = fenchel.load(path, allow=[Margin])
    assert loaded.loss.width == 0.5
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()


class Margin(Conjugable):
    """l(z, y) = max(0, width - yz)."""

    labels = Labels.BINARY
    nonnegative = True

    def __init__(self, width):
        self.width = width

    def value(self, z, y):
        return np.maximum(0, self.width - y * z)

    def slope(self, z, y):
        return np.where(y * z < self.width, -y, 0.0)

    def conjugate(self, alpha, y):
        return self.within(alpha, y, self.width * alpha * y)

    def domain(self, y):
        return np.minimum(-y, 0), np.maximum(-y, 0)
