# A file without a scenario.
