"""Operations on many runs: alternations, bisections, histories of other tools."""
