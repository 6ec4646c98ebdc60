"""Experiments that run as they are: one YAML file each."""
