"""What instructor and student read of a graded unit: class report, feedback pages, similar pairs. No mark is changed here."""
