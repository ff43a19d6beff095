"""What programs take at other frequencies and on other machines, in time and in energy."""
