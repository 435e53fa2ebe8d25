"""What the package promises to those who import it."""

import loadgen


def test_the_public_names_are_listed_and_exist() -> None:
    """The list is complete, sorted, and every name on it can be had."""
    assert loadgen.__all__ == sorted(loadgen.__all__)
    assert loadgen.__all__ == ["__version__"]
    assert all(hasattr(loadgen, name) for name in loadgen.__all__)
