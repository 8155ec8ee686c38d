"""What lessons measure: quality of translations, memory, and the stored results of long runs. Nothing is drawn here."""
