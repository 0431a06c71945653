from report.contents import Row, Setting, choose_setting, list_models


def row(model_id: str, model: str, rank: int, method: str = "pretexeval", **other: object) -> Row:
    keys = {"method": method, "scoring_policy": "strict", "repeat": 0}
    return {"model_id": model_id, "model": model, "rank": rank} | keys | other


def test_the_first_method_policy_and_repeat_are_the_setting_of_the_figures() -> None:
    leaderboard = [
        row("a", "A", 1, "direct"),
        row("a", "A", 1, "prototype", scoring_policy="coin-flip"),
        row("a", "A", 1, "prototype", repeat=1),
        row("a", "A", 1, "prototype", repeat=0),
    ]
    assert choose_setting(leaderboard, ["direct"]) == (Setting("prototype", "strict", 0), 4)


def test_models_stand_by_rank_and_are_coloured_by_their_place() -> None:
    setting = Setting("pretexeval")
    places = {"m2": 0, "m1": 1}
    models = list_models([row("m1", "zeta", 1), row("m2", "alpha", 2)], setting, {}, places)
    assert [(m.label, m.colour) for m in models] == [
        ("zeta", "var(--model-1)"),
        ("alpha", "var(--model-0)"),
    ]
    swapped = list_models([row("m1", "zeta", 2), row("m2", "alpha", 1)], setting, {}, places)
    assert {m.label: m.colour for m in swapped} == {m.label: m.colour for m in models}


def test_twelve_models_have_different_colours_and_those_of_one_colour_different_marks() -> None:
    rows = [row(f"m{k:02}", f"m{k:02}", k + 1) for k in range(24)]
    models = list_models(
        rows, Setting("pretexeval"), {}, {each["model_id"]: k for k, each in enumerate(rows)}
    )
    assert len({model.colour for model in models[:12]}) == 12
    assert len({(model.colour, model.mark) for model in models}) == 24


def test_models_of_the_same_name_are_labelled_by_id() -> None:
    models = list_models(
        [row("same-1", "same", 1), row("same-2", "same", 2), row("o-1", "other", 3)],
        Setting("pretexeval"),
        {"asked": "other"},
        {"same-1": 0, "same-2": 1, "o-1": 2, "asked": 3},
    )
    assert [m.label for m in models] == ["same-1", "same-2", "o-1", "asked"]
