"""What nbgrader's own commands load of the kit: steps of autograde, and a hidden test cell's check. The work is elsewhere."""

# nbgrader loads these by name, as its configuration says; the layer in which that is filled in lies below this one
REPAIR = f"{__name__}.autograding.Repair"
EXAMINE = f"{__name__}.autograding.Examine"
SAVE_MARKS = f"{__name__}.autograding.SaveMarks"
ANY_NOTEBOOK = f"{__name__}.autograding.AnyNotebook"
RUN_ALL = f"{__name__}.releasing.RunAll"
COLLECT = f"{__name__}.exchanging.Collect"
RELEASE_FEEDBACK = f"{__name__}.exchanging.ReleaseFeedback"
BY_DEADLINES = f"{__name__}.lateness.ByDeadlines"
