"""The sentence for each fact about a wrong result, one module for each module of `utils.checking.explaining` that finds facts."""
