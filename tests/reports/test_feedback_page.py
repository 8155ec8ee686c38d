"""The page that a student gets back, in headless Chromium without network: short, true, and readable everywhere."""

import pytest
from browser import offline_browser, screenshot
from conftest import UNIT

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def shown(graded):
    """shown(student, width, dark) opens a student's page; `asked` lists what it asked for."""
    folder, _ = graded
    with offline_browser() as browser:

        def open_page(student, width=1280, dark=False):
            page = browser.new_page()
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme="dark" if dark else "light")
            page.asked = []
            page.on("request", lambda sent: page.asked.append(sent.url))
            page.goto((folder / "feedback" / student / UNIT / f"{UNIT}.html").as_uri())
            return page

        yield open_page


def test_points_come_first_and_what_is_open_is_no_zero(shown):
    page = shown("softmax-over-queries")
    assert page.locator(".total").inner_text() == "15 of 18 points"
    assert "2 more are not graded yet" in page.locator("header").inner_text()
    assert "0 of 2" not in page.locator("#written_scaling").inner_text()
    screenshot(page, "feedback")


def test_a_mistake_is_told_beside_its_code_and_right_code_is_folded(shown):
    page = shown("softmax-over-queries")
    wrong = page.locator("#scaled_dot_product_attention")
    assert "Your weights sum to 1 over the queries" in wrong.locator(".said").inner_text()
    said, code = (wrong.locator(one).first.bounding_box() for one in (".said", ".code"))
    assert said["x"] + said["width"] <= code["x"] and abs(said["y"] - code["y"]) < 40
    assert not page.locator("#attention_scores .code").first.is_visible()
    page.locator("#attention_scores summary", has_text="Your code").click()
    assert page.locator("#attention_scores .code").first.is_visible()


def test_code_left_as_handed_out_is_folded_and_long_lines_are_wrapped(shown):
    page = shown("stub-untouched", 420)
    codes = page.locator(".code")
    assert codes.count() > 3 and not any(one.is_visible() for one in codes.all())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.locator(".code pre").first.evaluate("one => one.append('x = ' + 'long_name + '.repeat(60) + 'y'.repeat(300))")
    assert all(one.is_visible() for one in codes.all())
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight).length"
    assert page.locator(".code, .answer").evaluate_all(cut) == 0


@pytest.mark.parametrize("student", ["notebook-missing", "notebook-cut-off"])
def test_who_was_not_graded_has_the_same_maximum_as_in_the_course_report(shown, graded, monkeypatch, student):
    from autograder.gradebook.marks import totals

    monkeypatch.setenv("COURSE_CLASS", str(graded[0]))
    of = totals()[UNIT][student].most
    assert of == 20 and shown(student).locator(".total").inner_text() == "0 of 20 points"


def test_nothing_contradicts_the_marks(shown):
    page = shown("right-as-taught")
    text = page.content()
    assert "0 of 7" not in text and "Test cell" not in text and "BEGIN HIDDEN TESTS" not in text


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 420])
def test_it_fits_the_window_and_asks_for_nothing(shown, width, dark):
    page = shown("right-as-taught", width, dark)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert len([one for one in page.asked if not one.startswith("data:")]) == 1
    screenshot(page, f"feedback-{width}-{'dark' if dark else 'light'}")


def test_a_good_hand_in_takes_about_two_screens(shown):
    assert shown("right-as-taught").evaluate("document.documentElement.scrollHeight") < 2.5 * 900


def test_where_there_was_nothing_to_grade_the_reason_is_told_once(shown):
    page = shown("notebook-cut-off")
    assert page.locator(".said").count() == 1 and "cut off" in page.locator(".said").inner_text()
