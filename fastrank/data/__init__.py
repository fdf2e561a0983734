"""The data room: data sets, readers and writers, the binary cache, generators, folds and scalers."""
