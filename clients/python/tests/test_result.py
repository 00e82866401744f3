"""Results as tables, pages and figures."""

import pytest
from documents import INTERVAL, RESULT, point

import eagre

STORED = {
    "schema": "eagre.archive/1",
    "campaign": {"id": "20261121-213000-c0ffee", "name": "<demo>", "method": "throughput", "state": "done"},
    "method_results": [],
    "findings": [{"frame": "64B", "goal": "throughput", "unit": "pps", "value": 1.5e6, "document": {}, "note": None}],
    "trials": [{**point(1), "result": RESULT, "intervals": [INTERVAL]}, {**point(2), "valid": False, "result": None}],
}


def test_a_row_for_each_thing():
    result = eagre.Result(RESULT, [INTERVAL])
    a, b = result.rows()
    assert (a["stream"], a["latency_ns.p99"], b["latency_ns.p99"]) == ("a", 2500, None)
    assert list(a) == list(b)
    assert result.rows("ports")[0]["port"] == "west"
    assert result.rows("groups")[0]["row"] == "gold"
    assert result.rows("workers")[0]["busy_ratio"] == 0.5
    assert [(row["kind"], row["name"]) for row in result.rows("intervals")] == [("port", "west"), ("stream", "a")]
    with pytest.raises(ValueError, match="not 'flows'"):
        result.rows("flows")


def test_a_result_passes_if_everything_held():
    result = eagre.Result(RESULT)
    assert result.valid and not result.passed
    assert eagre.Result({**RESULT, "criteria": []}).passed


def test_a_disturbed_result_passes_if_what_was_asked_holds():
    verdict = {**RESULT["verdict"], "valid": False, "disturbed": True, "reasons": ["worker 0 waited"]}
    disturbed = {**RESULT, "criteria": [], "verdict": verdict}
    for outcome, words in (("passed", "requirements met"), ("cannot_judge", "not valid"), ("failed", "not valid")):
        result = eagre.Result({**disturbed, "overall": {"outcome": outcome}})
        assert (result.outcome, result.passed, result.valid) == (outcome, outcome == "passed", False)
        assert repr(result).startswith(f"<Result {words} (worker 0 waited)"), repr(result)
    # A document of an older version has none.
    old = (RESULT, {**RESULT, "criteria": []}, disturbed)
    assert [eagre.Result(one).outcome for one in old] == ["failed", "passed", "cannot_judge"]


def test_tables_of_other_libraries():
    pytest.importorskip("pandas")
    result = eagre.Result(RESULT, [INTERVAL])
    frame = result.to_pandas().set_index("stream")
    assert frame.loc["a", "lost"] == 10 and frame["latency_ns.p99"].isna().sum() == 1
    table = result.to_arrow("intervals")
    assert table.num_rows == 2 and table.column("tx").to_pylist() == [None, 50]


def test_a_page_escapes_names_and_says_the_verdict():
    page = eagre.Result(RESULT)._repr_html_()
    assert "&lt;b&gt;" in page and "<b>valid</b>" in page and "10.0000%" in page
    assert "&lt;demo&gt;" in eagre.CampaignResult(STORED)._repr_html_()


def test_figures_are_drawn():
    pytest.importorskip("matplotlib")
    for figure in (
        eagre.Result(RESULT).plot(), eagre.Result(RESULT, [INTERVAL, INTERVAL]).plot(), eagre.CampaignResult(STORED).plot()
    ):  # fmt: skip
        assert figure.axes and any(axes.lines or axes.patches for axes in figure.axes)
        assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_campaign_has_findings_and_trials():
    campaign = eagre.CampaignResult(STORED)
    assert campaign.rows()[0]["value"] == 1.5e6
    assert len(campaign.trials) == 1 and len(campaign.trials[0].intervals) == 1
    assert [row["valid"] for row in campaign.rows("trials")] == [True, False]
