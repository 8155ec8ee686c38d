"""From a folder of files to a notebook in the released form. Nothing of a submission is run here."""
