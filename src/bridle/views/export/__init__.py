"""Files to keep of a run or a conversation: Markdown, JSON and HTML; imports the data and the words of other views."""
