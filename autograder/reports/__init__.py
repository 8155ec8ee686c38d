"""What instructor and student read of graded units: reports of a unit and of the course, feedback. No mark is changed here."""

# nbgrader's and nbconvert's exporters load these by name
CLEAN_OUTPUTS = f"{__name__}.safe_html.CleanOutputs"
MARKDOWN_TO_HTML = f"{__name__}.safe_html.markdown2html"
CLEAN_HTML = f"{__name__}.safe_html.clean_once"
UNCHANGED = f"{__name__}.safe_html.unchanged"
FEEDBACK_PAGE = f"{__name__}.feedback_page.FeedbackPage"
