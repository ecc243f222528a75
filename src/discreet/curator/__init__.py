"""The one door: a workspace on disk, who may ask what, and answers that were charged before they were computed."""
