class CodeIndex: pass
