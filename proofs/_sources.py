"""The works whose statements are proved, corrected or refuted here."""

from __future__ import annotations

BA = "Ba et al., arXiv:1607.06450"
GUPTA = "Gupta et al., arXiv:2409.12951"
RIECHERS = "Riechers, arXiv:2405.04134"
XIONG = "Xiong et al., arXiv:2002.04745"
ZHANG = "Zhang and Sennrich, arXiv:1910.07467"
IOFFE = "Ioffe and Szegedy, arXiv:1502.03167"
JIANG = "Jiang et al., arXiv:2305.14858"
BLOG = "Blog post on the geometric intuition of layer normalization"
DIGEST = "Digest on normalization in transformers"
SUMMARY = "Summary of Gupta et al."
ABSTRACT = "Summary of Riechers"
SAMUELSON = "Samuelson, J. Amer. Statist. Assoc. 63 (1968)"
OWN = "This project"
