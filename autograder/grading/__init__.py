"""From a submission to marks: one notebook examined, a class handed to workers, a journal kept. No page is written here."""
