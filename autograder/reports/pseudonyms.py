"""Names for reports that others may see: the same for a student each time, and leading back only with the class's folder."""

import hashlib
import hmac

from autograder import settings

# The end of the file's name: a report with pseudonyms never replaces the one with names.
SUFFIX = "-pseudonyms"


def pseudonym(student: str) -> str:
    """What a student is called instead; the order of these names says nothing of the order of the students'."""
    return "student-" + hmac.new(settings.secret().encode(), student.encode(), hashlib.sha256).hexdigest()[:8]
