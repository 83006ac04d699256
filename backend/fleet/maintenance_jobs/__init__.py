"""Jobs for workers on run folders: pack, measure, delete, have the models of a run answer."""
