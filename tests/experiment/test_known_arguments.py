"""The table of arguments agrees with what a server takes."""

import itertools

from loadgen.experiment.known_arguments import KNOWN, known_argument
from loadgen.servers.embedded_flags import FLAGS

OPPOSITES = ("-no-kvu", "--no-", "-nocb")


def test_every_name_stands_once() -> None:
    """No name belongs to two arguments."""
    names = list(itertools.chain.from_iterable(known.names for known in KNOWN))
    assert len(set(names)) == len(names)


def test_names_of_one_argument_of_the_server_are_one_argument_here() -> None:
    """Whatever the embedded server takes under several names is known under all of them."""
    apart = [flag.names for flag in FLAGS if len({known_argument(name).names for name in flag.names}) > 1]
    assert apart == []


def test_names_of_one_argument_here_set_one_thing_in_the_server() -> None:
    """Two names of an argument are the server's names of one, or a switch and its opposite."""
    of_server = {name: flag.names for flag in FLAGS for name in flag.names}
    for known in KNOWN:
        same = {of_server[name] for name in known.names if name in of_server and not name.startswith(OPPOSITES)}
        assert len(same) <= 1, known.names
    variables = {flag.variable: flag.names[0] for flag in FLAGS if flag.variable}
    for known in KNOWN:
        if known.variable in variables:
            assert variables[known.variable] in known.names
