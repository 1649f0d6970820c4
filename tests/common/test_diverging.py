"""Weights that are no longer finite are found, and the sentence says what to go on with."""

import pytest
import torch

from common.diverging import are_finite, expect_finite
from common.errors import UsageError


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -float("inf")])
def test_one_weight_that_is_not_finite_is_found_and_the_sentence_names_what_was_saved(tmp_path, broken):
    weights, saved = [torch.ones(3), torch.zeros(2, 2)], tmp_path / "saved.pt"
    assert are_finite(weights)
    expect_finite(weights, "step 7", saved, "use a smaller step")
    weights[1][0, 1] = broken
    assert not are_finite(weights)
    with pytest.raises(UsageError) as told:
        expect_finite(weights, "step 7", saved, "use a smaller step")
    assert str(told.value) == (
        "expected finite weights after step 7; training has diverged, and no earlier ones have been saved: use a smaller step"
    )
    saved.touch()
    with pytest.raises(UsageError, match=f"the last finite ones are in {saved}: use a smaller step"):
        expect_finite(weights, "step 7", saved, "use a smaller step")
