"""Jobs for workers on run folders: pack, measure, delete."""
