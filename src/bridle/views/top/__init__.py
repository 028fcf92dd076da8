"""The full-screen terminal view of runs, with Textual; imports the data of runs and the cards of the terminal."""
