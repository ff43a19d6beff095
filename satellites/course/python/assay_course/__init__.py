"""The course: a flawed measurement beside an honest one in each lesson, and the rule that catches it."""
