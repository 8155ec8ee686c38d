"""Who does the work: processes of this machine or a dask cluster's. They know nothing of exercises."""
