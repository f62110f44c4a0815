"""The tables of sign-ins with a browser."""

from sqlalchemy import Column, Double, Index, Integer, LargeBinary, PrimaryKeyConstraint, String, Table, Text

from anubis.store.sql.schema import metadata

#: The cookie of a browser has the id and a secret, of which only the digest is stored.
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("user", Integer, nullable=False),  # users
    Column("token", String(12)),  # tokens: it was made with this token; NULL: by the provider
    Column("issuer", Text, nullable=False),  # of the provider; empty: a token
    Column("about", Text, nullable=False),  # the browser, as it names itself
    Column("created_s", Double, nullable=False),
    Column("expires_s", Double, nullable=False),
    Column("revoked_s", Double),  # NULL: not revoked
    Column("used_s", Double),  # NULL: never
)

#: What must be remembered between two requests of one sign-in. A row is deleted when it is used.
sign_in_steps = Table(
    "sign_in_steps",
    metadata,
    Column("digest", LargeBinary, primary_key=True),  # of a state or a code
    Column("body", Text, nullable=False),  # JSON
    Column("expires_s", Double, nullable=False),
    Index("sign_in_steps_expire", "expires_s"),
)

#: Who a user is at a provider.
subjects = Table(
    "subjects",
    metadata,
    Column("issuer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("user", Integer, nullable=False),  # users
    PrimaryKeyConstraint("issuer", "subject", name="subjects_pk"),
    Index("subjects_user", "issuer", "user", unique=True),
)
