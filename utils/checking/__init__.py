"""How an object is examined: records, observing, judging and the sentences about it. No exercise's answer lies here."""
