"""What people who are signed in may do: the one place that the API and the console come to."""
