"""The report in a real browser: it draws, answers, fetches nothing and complains of nothing."""

import json
from pathlib import Path

import pytest

from meshwright.overlay.dataset import load_overlay
from meshwright.report import MOST_BYTES, make_report
from tests.browser.conftest import ARTEFACTS
from tests.reports import (
    HOSTILE,
    HOSTILE_TOPIC,
    company,
    crowd,
    deployment,
    write_assignments,
    write_designs,
    write_points,
    write_run,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def overlays(place):
    """Two overlays of one workload; the second leaves topics apart."""
    few = {"method": "gpa", "max_edges": 24}
    write_designs(place, company(), gm={"method": "gm"}, few=few, world={"method": "sl"})
    return make_report([place / "gm", place / "few"], place / "overlays.html")


@pytest.fixture(scope="module")
def runs(place, overlays):
    made = [
        write_run(place / "world", place / "pie", "pie", against="scribe"),
        write_run(place / "world", place / "po", "po"),
    ]
    return make_report([place / "world", *made], place / "runs.html")


@pytest.fixture(scope="module")
def assignments(place):
    return make_report(
        write_assignments(place / "content", "gr", "closest"), place / "assignments.html"
    )


@pytest.fixture(scope="module")
def deployed(place):
    return make_report([deployment(place / "conf")], place / "conf.html")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Ten thousand nodes."""
    here = tmp_path_factory.mktemp("large")
    design = {"method": "gm", "certify": False}
    write_designs(here, crowd(10_000, 1_000, 8), gm=design)
    return make_report([here / "gm"], here / "large.html")


def description(page) -> str:
    return page.inner_text(".description")


def wait_until(page, expression: str) -> None:
    """Wait until something holds; the page's own policy forbids the browser's way to do it."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"it never came true: {expression}")


def shows_whole_width(page) -> bool:
    """Nothing sticks out to the right."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_chart_is_drawn(opened, overlays, keep):
    with opened(overlays.page) as page:
        for figure in page.query_selector_all("[data-chart]"):
            name = figure.get_attribute("data-chart")
            assert figure.query_selector(".plot svg :is(path, rect, circle)"), name
        assert shows_whole_width(page)
        keep(page, "overlays")


def test_a_frontier_is_drawn_with_its_bound_and_other_methods(opened, tmp_path, keep):
    written = make_report([write_points(tmp_path, company(), 6)], tmp_path / "frontier.html")
    with opened(written.page) as page:
        figure = page.locator("[data-chart=frontier]")
        assert figure.locator("path.line").count() == 2
        assert "gm" in figure.locator(".plot").text_content()
        assert shows_whole_width(page)
        keep(page, "frontier")


def test_hostile_names_are_shown_as_text(opened, overlays):
    with opened(overlays.page) as page:
        for name, kind in ((HOSTILE, "node"), (HOSTILE_TOPIC, "topic")):
            page.fill("input[type=search]", name[:12])
            option = page.locator("[role=option]", has_text=kind).first
            assert name in option.inner_text()
            option.click()
            assert name in description(page)
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        assert page.evaluate("document.scripts.length") == 2


def test_a_node_answers_to_the_pointer(opened, overlays, place):
    names = company().node_names
    degrees = load_overlay(place / "gm").degrees
    with opened(overlays.page) as page:
        page.locator("canvas").scroll_into_view_if_needed()
        for name in ("lyon-a", HOSTILE):
            at = page.evaluate("n => document.querySelector('.picture').where(n)", name)
            page.mouse.move(at["x"], at["y"])
            tip = page.inner_text("#tip")
            links = degrees[list(names).index(name)]
            assert tip.startswith(f"{name}\n{links} link")
        page.mouse.click(at["x"], at["y"])
        assert f"{HOSTILE} has {links} link" in description(page)
        page.mouse.move(2, 2)
        assert page.locator("#tip").is_hidden()


def test_a_chosen_node_shows_what_its_loss_would_split(opened, overlays, keep):
    first = overlays.document["sections"][0]["overlays"][0]
    worst = first["losses"]["worst"][0]
    with opened(overlays.page) as page:
        table = page.locator("table", has_text="subscribers cut off").first
        row = table.locator("tbody tr").first
        shown = [worst["node"], *(f"{worst[k]:,}" for k in ("topics", "subscribers", "deliveries"))]
        assert row.locator("th, td").all_inner_texts() == shown
        page.fill("input[type=search]", worst["node"])
        page.locator("[role=option]", has_text="node").first.click()
        topics = "topic" if worst["topics"] == 1 else "topics"
        assert f"Its loss would split {worst['topics']} {topics}" in description(page)
        cut = page.evaluate("document.querySelector('.picture').lit().cut")
        assert cut > 0
        assert f"{cut} node" in description(page)
        keep(page, "one-failure")


def test_a_survivable_overlay_loses_nothing_and_shows_its_price(opened, tmp_path):
    write_designs(tmp_path, company(), safe={"method": "gm", "survive": 1})
    written = make_report([tmp_path / "safe"], tmp_path / "safe.html")
    with opened(written.page) as page:
        assert "no node's loss splits a topic" in page.inner_text("body")
        assert "Designed to survive the loss of any 1 node. The price:" in page.inner_text("body")
        page.fill("input[type=search]", "lyon-a")
        page.locator("[role=option]", has_text="node").first.click()
        assert "Its loss would split no topic." in description(page)
        assert shows_whole_width(page)


def test_a_chosen_topic_lights_up_with_its_components_and_diameter(opened, overlays, keep):
    section = overlays.document["sections"][0]
    t = section["workload"]["topic_names"].index("all/time")
    with opened(overlays.page) as page:
        page.fill("input[type=search]", "all/time")
        page.keyboard.press("Enter")
        for i, label in enumerate(("gm", "few")):
            page.click(f".picture .tabs button:has-text('{label}')")
            rows = section["overlays"][i]["topics"]
            lit = page.evaluate("document.querySelector('.picture').lit()")
            assert lit["choice"] == {"kind": "topic", "id": t}
            assert lit["members"] == section["workload"]["subscribers_of_topic"][t]
            assert lit["links"] == rows["links"][t]
            said = description(page)
            assert f"{lit['members']} subscribers" in said
            parts, wide = rows["components"][t], rows["diameter_high"][t]
            expected = "connected, diameter" if parts == 1 else f"in {parts} components"
            assert expected in said
            assert f"diameter {wide}" in said
            page.locator(".picture").scroll_into_view_if_needed()
            page.locator(".description").scroll_into_view_if_needed()
            keep(page, f"topic-{label}", full=False)
        assert parts > 1  # the second overlay leaves it apart
        page.locator("canvas").focus()
        page.keyboard.press("Escape")
        assert page.evaluate("document.querySelector('.picture').lit().choice") is None


def test_the_picture_zooms_by_buttons_keys_and_wheel_and_can_be_dragged(opened, overlays):
    zoom = "document.querySelector('.picture').lit().zoom"
    where = "document.querySelector('.picture').where('lyon-a')"
    with opened(overlays.page) as page:
        page.click("[data-zoom=in]")
        assert page.evaluate(zoom) == pytest.approx(1.5)
        page.locator("canvas").focus()
        page.keyboard.press("-")
        assert page.evaluate(zoom) == pytest.approx(1.5 / 1.4)
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + 30, box["y"] + 30)
        page.mouse.wheel(0, -300)
        wait_until(page, f"{zoom} > 1.5")
        before = page.evaluate(where)
        page.mouse.down()
        page.mouse.move(box["x"] + 90, box["y"] + 70, steps=3)
        page.mouse.up()
        after = page.evaluate(where)
        assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((60, 40))
        page.click("[data-zoom=reset]")
        assert page.evaluate(zoom) == 1


def test_the_field_and_the_buttons_follow_the_choice(opened, overlays):
    choice = "document.querySelector('.picture').lit().choice"
    with opened(overlays.page) as page:
        page.fill("input[type=search]", "lyon/a")
        page.keyboard.press("Enter")
        chip = page.locator(".chips button", has_text="all/time").first
        chip.click()
        assert page.input_value("input[type=search]") == "all/time"
        assert chip.get_attribute("aria-pressed") == "true"
        chosen = page.evaluate(choice)
        page.click("[data-zoom=in]")
        page.click("[data-zoom=reset]")
        assert page.evaluate(choice) == chosen  # the whole picture, of what was chosen
        page.focus("input[type=search]")
        page.keyboard.press("Escape")
        assert page.evaluate(choice) is None
        assert chip.get_attribute("aria-pressed") == "false"
        page.fill("input[type=search]", "lyon/a")
        page.keyboard.press("Enter")
        page.fill("input[type=search]", "")
        assert page.evaluate(choice) is None


def test_two_fingers_move_the_picture(opened, overlays):
    where = "document.querySelector('.picture').where('lyon-a')"
    with opened(overlays.page, width=390, height=844, has_touch=True, is_mobile=True) as page:
        page.locator("canvas").scroll_into_view_if_needed()
        box = page.locator("canvas").bounding_box()
        touch = page.context.new_cdp_session(page)

        def fingers(kind: str, y: float) -> None:
            points = [
                {"x": box["x"] + x, "y": box["y"] + y, "id": i} for i, x in enumerate((90, 190))
            ]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        before = page.evaluate(where)
        fingers("touchStart", 200)
        for y in range(190, 99, -10):
            fingers("touchMove", y)
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        after = page.evaluate(where)
        assert before["y"] - after["y"] == pytest.approx(100, abs=15)
        assert after["x"] == pytest.approx(before["x"], abs=5)


def test_long_labels_do_not_widen_the_page(opened, place, overlays):
    import shutil

    long = place / ("overlay_of_2026_" + "maximum_degree_3_" * 9)
    shutil.copytree(place / "few", long)
    made = make_report([place / "gm", long], place / "long.html")
    with opened(made.page, width=390, height=844, has_touch=True, is_mobile=True) as page:
        assert shows_whole_width(page)


def test_names_from_right_to_left_leave_numbers_in_place(opened, tmp_path):
    from meshwright.model.instance import Instance

    names = ("خادم الرياض", "\u202eretro", "c")
    pairs = [(name, topic) for name in names for topic in ("قناة", "x")]
    write_designs(tmp_path, Instance.from_pairs(pairs), gm={"method": "gm"})
    made = make_report([tmp_path / "gm"], tmp_path / "r.html")
    left = """(e => {
        const range = document.createRange();
        range.selectNode(e);
        return range.getBoundingClientRect().left;
    })"""
    with opened(made.page) as page:
        page.fill("input[type=search]", "قناة")
        page.keyboard.press("Enter")
        # The name stands first, the number of subscribers to its right.
        name, rest = page.evaluate(
            f"(p => [...p.childNodes].map({left}))(document.querySelector('.description p'))"
        )
        assert name < rest
        assert page.evaluate(
            "getComputedStyle(document.querySelector('.description b')).unicodeBidi"
        ) == ("isolate")


def test_the_wheel_scrolls_the_page_until_the_picture_is_entered(opened, overlays):
    with opened(overlays.page) as page:
        page.locator("canvas").scroll_into_view_if_needed()
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + 30, box["y"] + 30)
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 200)
        wait_until(page, f"scrollY > {before}")
        assert page.evaluate("document.querySelector('.picture').lit().zoom") == 1


def test_all_can_be_reached_by_keys(opened, overlays):
    with opened(overlays.page) as page:
        reached = []
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "(e => e.id || e.type || e.tagName.toLowerCase())(document.activeElement)"
                )
            )
        assert {"theme", "search", "canvas", "button", "svg"} <= set(reached)
        page.locator("[data-chart=support] .plot > svg").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert "links added: 1" in page.inner_text("#tip")
        page.focus("input[type=search]")
        page.keyboard.type("lyon")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert description(page).startswith("lyon-b has")


def test_what_is_not_found_is_said(opened, overlays):
    with opened(overlays.page) as page:
        page.fill("input[type=search]", "no such thing")
        assert "No node or topic has this in its name." in page.inner_text(".search ul")


def test_it_is_dark_where_the_reader_is_and_can_be_switched(opened, overlays, keep):
    paper = "getComputedStyle(document.body).backgroundColor"
    with opened(overlays.page, color_scheme="dark") as page:
        assert page.evaluate(paper) == "rgb(16, 20, 24)"
        keep(page, "overlays-dark")
        page.click("#theme")
        assert page.evaluate(paper) == "rgb(255, 255, 255)"
        assert page.inner_text("#theme") == "Dark"


@pytest.mark.parametrize("name", ["overlays", "runs", "assignments", "deployed"])
def test_it_fits_a_phone(opened, request, keep, name):
    made = request.getfixturevalue(name)
    with opened(made.page, width=390, height=844, has_touch=True, is_mobile=True) as page:
        assert shows_whole_width(page)
        keep(page, f"{name}-phone")


def test_it_prints_in_light_colours_without_controls(opened, overlays):
    with opened(overlays.page, color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert page.locator(".picture .tools").is_hidden()
        assert page.locator("#theme").is_hidden()
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        printed = page.pdf(path=ARTEFACTS / "overlays.pdf", format="A4")
        assert printed.startswith(b"%PDF")


@pytest.mark.parametrize("width", [320, 800, 1280])
def test_a_deployment_shows_its_links_brokers_and_restarts_at_any_width(
    opened, deployed, keep, width
):
    section = deployed.document["sections"][0]
    with opened(deployed.page, width=width) as page:
        assert shows_whole_width(page)
        assert page.locator(".links tbody tr").count() == section["n_links"]
        assert page.locator(".brokers tbody tr").count() == section["n_brokers"]
        assert page.locator(".steps li").count() == len(section["restart"]["steps"])
        assert page.locator(".topics").first.is_hidden()
        page.locator(".links summary").first.click()
        assert page.locator(".topics").first.is_visible()
        assert section["links"][0]["topics"][0][0] in page.locator(".topics").first.inner_text()
        assert shows_whole_width(page)
        keep(page, f"deployment-{width}", full=False)


def test_overlays_side_by_side_come_with_a_recommendation(opened, overlays):
    with opened(overlays.page) as page:
        said = page.inner_text(".recommendation")
        assert said.startswith("Recommended: gm: every topic is connected with")


def test_runs_are_compared(opened, runs, keep):
    with opened(runs.page) as page:
        bars = page.query_selector_all("[data-chart=run-overhead] rect")
        assert len(bars) == len(runs.document["sections"][0]["runs"]) == 3
        page.hover("[data-chart=run-load-ccdf] .plot > svg")
        assert "messages: " in page.inner_text("#tip")
        keep(page, "runs")


def test_filters_answer_to_the_choice_of_answer_and_broker(opened, assignments, keep):
    section = assignments.document["sections"][0]
    leaves = section["problem"]["leaves"]
    with opened(assignments.page) as page:
        keep(page, "assignments")
        for i, answer in enumerate(section["assignments"]):
            page.click(f"[data-assignment='{i}']")
            boxes = [b for b in answer["filters"]["broker"] if b in leaves]
            page.select_option("[data-broker]", "-1")
            assert page.locator(".filters .filter").count() == len(boxes)
            page.select_option("[data-broker]", str(leaves[1]))
            assert page.locator(".filters .filter").count() == boxes.count(leaves[1])
            assert page.locator(".filters .wanted").count() == answer["drawn_broker"].count(
                leaves[1]
            )
            said = page.inner_text(".filters .description")
            assert f"{answer['loads'][1]} subscribers" in said
            assert answer["label"] in said
        page.select_option("[data-broker]", "-1")
        legend = page.locator(".filters .legend span")
        assert legend.all_inner_texts() == [section["problem"]["brokers"][b] for b in leaves]
        edge = page.locator(".filters .filter").first.bounding_box()
        page.mouse.move(edge["x"] + 4, edge["y"] + edge["height"] / 2)  # beside the line
        assert "filter volume" in page.inner_text("#tip")


def test_ten_thousand_nodes_are_drawn_as_groups_that_answer(opened, large, keep):
    assert large.page.stat().st_size < MOST_BYTES
    section = large.document["sections"][0]
    rows, names = section["overlays"][0]["topics"], section["workload"]["topic_names"]
    drawn = section["overlays"][0]["picture"]
    assert drawn["of"] == "groups"
    with opened(large.page) as page:
        assert "10,000 nodes in" in description(page)
        page.locator("canvas").scroll_into_view_if_needed()
        at = page.evaluate("document.querySelector('.picture').where('node-0007')")
        page.mouse.move(at["x"], at["y"])
        size = drawn["size"][drawn["group"][7]]
        assert page.inner_text("#tip").startswith(f"{size} nodes around \u2068node-")
        t = names.index("topic-040")
        page.fill("input[type=search]", names[t])
        page.keyboard.press("Enter")
        lit = page.evaluate("document.querySelector('.picture').lit()")
        assert (lit["members"], lit["links"]) == (
            section["workload"]["subscribers_of_topic"][t],
            rows["links"][t],
        )
        assert f"diameter {rows['diameter_high'][t]}" in description(page)
        keep(page, "large", full=False)
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        (ARTEFACTS / "large.json").write_text(
            json.dumps(
                {
                    "bytes": large.page.stat().st_size,
                    "milliseconds_to_draw": int(page.get_attribute("html", "data-drawn")),
                }
            )
        )


def test_debris_is_not_called_a_group(opened, tmp_path):
    write_designs(
        tmp_path, crowd(3_000, 300, 4), few={"method": "gpa", "max_edges": 900, "certify": False}
    )
    made = make_report([tmp_path / "few"], tmp_path / "r.html")
    drawn = made.document["sections"][0]["overlays"][0]["picture"]
    g = max(range(len(drawn["parts"])), key=lambda g: drawn["parts"][g])
    assert drawn["parts"][g] > 100
    with opened(made.page) as page:
        said = f"gathers {drawn['size'][g]:,} nodes in {drawn['parts'][g]:,} separate parts"
        assert said in description(page)
        name = made.document["sections"][0]["workload"]["node_names"][drawn["group"].index(g)]
        page.locator("canvas").scroll_into_view_if_needed()
        at = page.evaluate("n => document.querySelector('.picture').where(n)", name)
        page.mouse.move(at["x"], at["y"])
        assert "separate parts" in page.inner_text("#tip")


def test_a_page_without_room_for_names_still_draws_and_says_so(opened, large, place):
    from meshwright.report import document
    from meshwright.report.page import BUDGETS, render, trimmed

    page_path = place / "bare.html"
    bare = trimmed(document([large.page.parent / "gm"]), BUDGETS[2])
    page_path.write_text(render(bare))
    section = bare["sections"][0]
    assert section["workload"]["node_names"] is None
    with opened(page_path) as page:
        page.locator("canvas").scroll_into_view_if_needed()
        box = page.locator("canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.fill("input[type=search]", "node-0007")
        assert "No node or topic" in page.inner_text(".search ul")
        page.click(".chips button")
        assert "It has too many subscribers to list here." in description(page)


def test_sections_are_listed_and_each_is_drawn(opened, overlays, assignments, place):
    content = place / "content"
    made = make_report([place / "gm", content / "gr", place / "workload"], place / "mixed.html")
    with opened(made.page) as page:
        links = page.locator(".contents a")
        assert links.count() == len(made.document["sections"]) == 2
        links.nth(1).click()
        assert page.locator("#section-1 h1").is_visible()
        assert page.locator("#section-0 canvas").count() == 1
        assert page.locator("#section-1 .filters .filter").count() > 0
