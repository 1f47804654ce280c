import pytest

from jqueuer.scheduling import matches, parse_constraint

NODE = {
    "node.id": "x1y2",
    "node.hostname": "node1",
    "node.role": "manager",
    "node.ip": "10.78.0.11",
    "node.labels.gpu": "Yes",
    "engine.labels.os": "debian",
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("node.role==manager", True),
        ("node.role == worker", False),
        ("node.role != worker", True),
        ("NODE.ROLE == Manager", True),
        ("node.labels.gpu == yes", True),
        ("node.labels.GPU == yes", False),
        ("node.labels.ssd == yes", False),
        ("node.labels.ssd != yes", True),
        ("engine.labels.os == debian", True),
        ("node.hostname != node1", False),
        ("node.id == x1y2", True),
        ("node.ip == 10.78.0.0/24", True),
        ("node.ip != 10.78.0.11", False),
        ("node.ip == 10.79.0.0/24", False),
    ],
)
def test_a_constraint_is_judged_as_swarm_does(text: str, holds: bool) -> None:
    assert parse_constraint(text).holds(NODE) is holds


def test_all_constraints_must_hold() -> None:
    role, label = parse_constraint("node.role == manager"), parse_constraint("node.labels.gpu == no")
    assert matches((), NODE)
    assert matches((role,), NODE)
    assert not matches((role, label), NODE)


def test_an_address_is_in_no_network_where_it_is_unknown() -> None:
    assert not parse_constraint("node.ip == 10.0.0.0/8").holds({})


def test_a_constraint_prints_as_it_is_read() -> None:
    assert str(parse_constraint("node.labels.gpu!=no")) == "node.labels.gpu != no"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("node.role", "expected a key, == or !=, and a value"),
        ("node.role = manager", "expected a key, == or !=, and a value"),
        ("node.role ==", "there is no value after =="),
        ("node.role == a,b", "Swarm does not take the value 'a,b'"),
        ("node.label.gpu == yes", "nodes have no 'node.label.gpu'"),
        ("node.labels. == yes", "nodes have no 'node.labels.'"),
        ("== yes", "nodes have no ''"),
        ("node.ip == here", "expected an address or a network"),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match="^" + complaint.replace(".", r"\.")):
        parse_constraint(text)
