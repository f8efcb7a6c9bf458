"""All settings, from the environment. Defaults that are safe only on a laptop are refused elsewhere.

DATABASE_URL      which database; SQLite in IDEALIST_DATA when absent
IDEALIST_DATA     folder for the database, the secret key, pictures, uploads and static files (default: var/)
IDEALIST_HOSTS    host names to answer to, with the port if it is unusual, and commas (default: this machine only)
IDEALIST_HTTPS    1 behind TLS: secure cookies, HSTS, redirect from http
IDEALIST_PROXIES  number of proxies before the server (0; 1 with IDEALIST_HTTPS=1)
IDEALIST_LARGEST_UPLOAD  megabytes of the files that are sent together by page (100); commands take larger ones
IDEALIST_LARGEST_LOG  megabytes of a log of searches that is sent by page (1000); commands take larger ones
IDEALIST_PULL_HOSTS  hosts, addresses, networks for `pull`, pictures and judges, with commas (default: none)
IDEALIST_JUDGE_KEYS  keys of hosts that judges ask: host=key, host:port=key, with commas (default: none)
IDEALIST_BACKUP_EVERY  hours between two backups that the worker makes (24 if others are served, else 0: none)
IDEALIST_BACKUP_KEEP  how many of them are kept, and of those before an upgrade (7)
IDEALIST_BACKUPS  folder for them, best on another disk, or s3:// as STORAGE_URL (backups in IDEALIST_DATA)
IDEALIST_KEEP_DAYS  days for which the audit and imports that wrote nothing are kept (730; 0: for good)
IDEALIST_DEMO     1 loads the sample and lets links sign in to look around; run.py sets it on a loopback address
IDEALIST_LOG      text, or json for programs, with ids of requests and events of the audit (text)
IDEALIST_METRICS_TOKEN  the bearer token for /metrics, and for problems in /readyz (default: none)
IDEALIST_WORKER   1 keeps a worker running beside the server; run.py sets it
IDEALIST_OIDC_ISSUER  address of a provider of OpenID Connect at which people sign in (default: none)
IDEALIST_OIDC_CLIENT  the client id that the provider gave; needed with an issuer
IDEALIST_OIDC_SECRET  the client secret that the provider gave; needed with an issuer
IDEALIST_OIDC_NAME  the provider's name on the button (your organisation)
IDEALIST_OIDC_SCOPES  what the provider is asked for (openid profile email)
IDEALIST_OIDC_GROUPS_CLAIM  the claim with the groups of a person (groups); dots lead into nested claims
IDEALIST_OIDC_ROLES  the roles of groups: group=collection:role; group=superuser (default: none)
IDEALIST_OIDC_JOIN  1 lets the provider's verified address sign in to the account that has it
IDEALIST_OIDC_SECOND_FACTOR  values of acr or amr with which the provider says that it asked for a second factor
IDEALIST_OIDC_RSA_BITS  least size of the provider's RSA keys; 3072 is as strong as all else here (2048)
IDEALIST_PASSWORDS  0 lets nobody sign in by password; needs a provider (1)
IDEALIST_BREACHED_PASSWORDS  a file of SHA-1 hashes, in order, of passwords that nobody may set (default: none)
IDEALIST_SECOND_FACTOR  roles that need a second factor, separated by commas (default: none)
IDEALIST_SESSIONS  how long sessions last: role=idle/longest, as in admin=30m/12h (default: two weeks for all)
IDEALIST_MAIL     the mail server, as in smtp+tls://user:password@host:587 (default: none, and nothing is sent)
IDEALIST_MAIL_FROM  the address that mail comes from; needed with a mail server
IDEALIST_SHARED_LINKS  0 opens no frozen evaluation to people without an account, by whatever link (1)
IDEALIST_STATIC   folder of static files (default: static/ in IDEALIST_DATA); an image contains them
STORAGE_URL       s3://BUCKET/FOLDER?endpoint=URL&region=NAME for uploads and pictures (default: IDEALIST_DATA)
SECRET_KEY_FORMER former keys, separated by spaces, whose links, cookies and second factors are still valid
SECRET_KEY        made at the first start and kept in IDEALIST_DATA/secret.key when absent; machines share one

Secrets can come from files: NAME_FILE is the path of a file with the value of NAME. See config/secret_files.py.
"""

import contextlib
import os
import re
import secrets
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.http.request import split_domain_port

from . import data_folder, machines, program, secret_files, sign_in

BASE_DIR = Path(__file__).resolve().parent.parent
PROGRAM = program.PROGRAM


def env_bool(name: str, default: str = "0") -> bool:
    value = os.environ.get(name, "").strip().lower() or default
    if value in {"1", "true", "yes"}:
        return True
    if value in {"0", "false", "no"}:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; write 1 or 0.")


def env_int(name: str, default: int, *, least: int = 0) -> int:
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isdecimal() or int(value) < least:
        raise ImproperlyConfigured(
            f"{name} is {value!r}; write a whole number{f' from {least} on' if least else ''}."
        )
    return int(value)


def secret_key_in(path: Path) -> str:
    """The secret key in the file `path`, made if missing. Two processes that start together get the same key."""
    if not path.exists():
        key = secrets.token_urlsafe(64)
        # The file gets its name when it is whole: another process may read it at once, and this one may be killed.
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(key + "\n")
            with contextlib.suppress(FileExistsError):
                os.link(part, path)
        except OSError as error:
            raise ImproperlyConfigured(f"{path} cannot be made: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
    return secret_files.content(path, "SECRET_KEY")


def checked_secret(key: str) -> str:
    is_placeholder = key.startswith("django-insecure") or len(set(key)) < 10
    if len(key) < 50 or is_placeholder:
        raise ImproperlyConfigured(
            "SECRET_KEY is short or a known placeholder. Give at least 50 random characters, "
            "or leave it unset and Idealist makes one and keeps it."
        )
    return key


def checked_proxies(number: int, https: bool) -> int:
    if https and not number:
        raise ImproperlyConfigured(
            "IDEALIST_HTTPS is 1 and IDEALIST_PROXIES 0, but TLS ends at a proxy: the server itself speaks none. "
            "Write how many proxies there are, or leave IDEALIST_PROXIES out for one."
        )
    return number


def checked_hosts(text: str) -> list[tuple[str, str]]:
    """[(host name, its port or "")] of text such as a.org,b.org:8443; the names of this machine for an empty text.

    A name with a point before it, such as .example.org, stands for all names below it, too.
    """
    hosts = []
    for entry in filter(None, map(str.strip, text.split(","))):
        name = entry.removeprefix(".").lower()
        # *: any host. The function of Django does not know it.
        domain, port = ("*", "") if entry == "*" else split_domain_port(name)
        # Django understands only a part of an entry with a scheme or a path, or nothing of it.
        is_understood = domain and name == (f"{domain}:{port}" if port else domain)
        if not is_understood:
            raise ImproperlyConfigured(
                f"IDEALIST_HOSTS has {entry!r}; write names such as ratings.example.org, without scheme and path,"
                " an IPv6 address as [::1], and a port that is not the usual one as ratings.example.org:8443."
            )
        hosts.append((f".{domain}" if entry.startswith(".") else domain, port))
    return hosts or [("localhost", ""), ("127.0.0.1", ""), ("[::1]", "")]


def checked_database(url: str) -> dict:
    """Django's settings of the database at the URL. An error never repeats it: it may contain a password."""
    try:
        database = dj_database_url.parse(url, conn_max_age=600, conn_health_checks=True)
    except ValueError:  # an unknown scheme, or a port that is no number
        database = {}
    is_known = database and urlsplit(url).scheme in ("postgres", "postgresql", "sqlite")
    # A service is an entry of a file of PostgreSQL, which has the name of the database.
    has_name = database.get("NAME", "") not in ("", ":memory:") or "service" in database.get("OPTIONS", {})
    if not (is_known and has_name):
        raise ImproperlyConfigured(
            "DATABASE_URL is not the address of a database; write postgres://USER:PASSWORD@HOST:5432/NAME, or"
            " sqlite:////PATH for a file. Write special characters of a password as in web addresses: %40 for @."
        )
    return database


def checked_file(name: str) -> Path | None:
    """The path in the setting `name`, of a file that can be read; None where it is not set."""
    path = os.environ.get(name)
    try:
        if path:
            Path(path).open("rb").close()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}: {path} cannot be read: {error.strerror}.") from error
    return Path(path) if path else None


def checked_keys(text: str) -> dict[str, str]:
    """{host: key} or {host:port: key} of text such as host=key,host:port=key. An error never repeats a key."""
    keys = {}
    for number, pair in enumerate(filter(None, map(str.strip, text.split(","))), 1):
        host, _, key = pair.partition("=")
        fits_header = all("!" <= character <= "~" for character in pair)  # ASCII without blanks
        if not (host and key and fits_header):
            raise ImproperlyConfigured(
                f"IDEALIST_JUDGE_KEYS: its part {number} is not host=key; write such as api.example.org=KEY or"
                " 10.0.0.7:8000=KEY."
            )
        keys[host.lower()] = key
    return keys


# The names of the settings: the list at the top, the secrets, one of which only a command reads, and their files.
NAMES = re.findall(r"^([A-Z_]+) ", __doc__ or "", re.MULTILINE)
NAMES += [f"{name}{end}" for name in secret_files.NAMES for end in ("", "_FILE") if f"{name}{end}" not in NAMES]
# Files of settings leave blanks and the CR of Windows behind a value.
os.environ.update({name: os.environ[name].strip() for name in NAMES if name in os.environ})
secret_files.read(os.environ)
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
DATA_DIR = data_folder.private_folder(Path(os.environ.get("IDEALIST_DATA") or BASE_DIR / "var").resolve())
STATIC_ROOT = Path(os.environ.get("IDEALIST_STATIC") or DATA_DIR / "static").resolve()

SECRET_KEY = checked_secret(os.environ.get("SECRET_KEY") or secret_key_in(DATA_DIR / "secret.key"))
# Links and cookies of former keys are still valid, and secrets of second factors can still be read.
SECRET_KEY_FALLBACKS = [checked_secret(key) for key in os.environ.get("SECRET_KEY_FORMER", "").split()]
HTTPS = env_bool("IDEALIST_HTTPS")
PROXIES = checked_proxies(env_int("IDEALIST_PROXIES", int(HTTPS)), HTTPS)
FOR_OTHERS = bool(HTTPS or os.environ.get("IDEALIST_HOSTS") or os.environ.get("DATABASE_URL"))
# The sample has an admin without a password, so it must not be where strangers come or in a shared database.
DEMO = env_bool("IDEALIST_DEMO") and not FOR_OTHERS
KEEPS_WORKER = env_bool("IDEALIST_WORKER")
HOSTS = checked_hosts(os.environ.get("IDEALIST_HOSTS", ""))
ALLOWED_HOSTS = [name for name, _ in HOSTS]
SITES = [f"{'https' if HTTPS else 'http'}://{name}{port and ':'}{port}" for name, port in HOSTS]
# Forms come from a port that a proxy may leave out of the header Host.
CSRF_TRUSTED_ORIGINS = [site.replace("//.", "//*.") for site, (_, port) in zip(SITES, HOSTS, strict=True) if port]

# Django's limit is 1,000. A wrong file can make hundreds of grades, which the page of the scale shows as forms.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
SMALL_BODY = 2**16  # bytes that anybody may send; the server holds them in memory
LARGEST_UNPACKED = 2**34  # bytes to which files that are sent together may unpack, and as many for their rows
LARGEST_RATIO = 200  # to which a file may unpack, over 100 megabytes
LARGEST_UPLOAD = env_int("IDEALIST_LARGEST_UPLOAD", 100) * 2**20  # bytes
LARGEST_LOG = env_int("IDEALIST_LARGEST_LOG", 1000) * 2**20  # bytes
FILE_UPLOAD_TEMP_DIR = DATA_DIR / "uploads"

BACKUP_EVERY = env_int("IDEALIST_BACKUP_EVERY", 24 if FOR_OTHERS else 0)  # hours
BACKUP_KEEP = env_int("IDEALIST_BACKUP_KEEP", 7, least=1)
KEEP_DAYS = env_int("IDEALIST_KEEP_DAYS", 730)

# An address that is not public must be listed itself, or its network, beside the name of its host.
PULL_HOSTS = [host.strip() for host in os.environ.get("IDEALIST_PULL_HOSTS", "").split(",") if host.strip()]
# The keys of hosts that judges ask. No page, file, log or row of the database contains them.
JUDGE_KEYS = checked_keys(os.environ.get("IDEALIST_JUDGE_KEYS", ""))

SHARED_LINKS = env_bool("IDEALIST_SHARED_LINKS", "1")
LOG = os.environ.get("IDEALIST_LOG") or "text"
if LOG not in ("text", "json"):
    raise ImproperlyConfigured(f"IDEALIST_LOG is {LOG!r}; write text or json.")
METRICS_TOKEN = os.environ.get("IDEALIST_METRICS_TOKEN", "")
if 0 < len(METRICS_TOKEN) < 20:
    raise ImproperlyConfigured("IDEALIST_METRICS_TOKEN is short; give at least 20 random characters, or none.")

INSTALLED_APPS = [
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "ratings",
    "ratings.judges",  # language models that grade, which can be taken out
    "evaluation",
    "evaluation.deciding",  # the orders with rounds, which can be taken out
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "ninja",
    "django_tasks_db",
]

MIDDLEWARE = [
    "config.logs.RequestIds",
    "config.proxies.Proxies",
    "csp.middleware.CSPMiddleware",  # before all that can answer, so that each response has a policy
    "config.health.endpoints.Health",  # before hosts, TLS, sessions and the database are used
    "ratings.web.problems.ProblemDocuments",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "ratings.people.access.NotStored",  # after static files, which may be kept
    # The only secrets in pages are tokens of forms. Django masks them anew each time, and pads what it compresses.
    "django.middleware.gzip.GZipMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ratings.people.limits.SessionLimits",
    "ratings.people.audit.who.Requests",
    # before the body is read, which the check for forged forms does only at the view
    "ratings.importing.body_limit.BodyLimit",
    "ratings.people.access.SignInRequired",
    "ratings.web.language.ForReader",
    "ratings.people.pages.PagesLimited",
    "ratings.people.sign_in.required.SecondFactorRequired",
    "ratings.people.access.PagesForActs",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "ratings.web.preferences.in_templates",
                "config.program.in_templates",
            ],
            "libraries": {
                **{name: f"ratings.web.template_tags.{name}" for name in ("figures", "forms", "grades", "paging")},
                **{name: f"evaluation.page.template_tags.{name}" for name in ("downloads", "numbers")},
                "accounts": "ratings.people.template_tags",
                "set_up": "ratings.collection.template_tags",
            },
        },
    },
]

DATABASES = {"default": checked_database(os.environ.get("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'db.sqlite3'}")}
# Processes that serve pages set IDEALIST_SHORT_WAITS; operators do not. A command may wait until an import ends; a
# person may not.
PATIENCE = 4  # seconds
# On SQLite all saves wait for one import, with a thread of the server each; the desk sends them again.
PATIENCE_ON_SQLITE = 2
SHORT_WAITS = env_bool("IDEALIST_SHORT_WAITS")
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["ENGINE"] = "config.sqlite"
    DATABASES["default"]["OPTIONS"] = {
        "timeout": PATIENCE_ON_SQLITE if SHORT_WAITS else 20.0,
        # Under load, a transaction that reads and then writes fails unless it starts as a writer.
        "transaction_mode": "IMMEDIATE",
        # FULL, so that an acknowledged rating survives a power cut.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=134217728;"
        " PRAGMA cache_size=-20000; PRAGMA temp_store=MEMORY;",
    }
    # A file, because a live server in a test and the test itself need two connections to one database.
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}
elif SHORT_WAITS:
    limits = {
        "lock_timeout": f"{PATIENCE}s",
        "statement_timeout": "30s",
        # A page that dies in the middle of an act must not keep its rows locked.
        "idle_in_transaction_session_timeout": "30s",
        # Where PostgreSQL expects much work, it compiles the statement. With a million ratings that took .26 s at
        # the desk, for a statement that then took a millisecond.
        "jit": "off",
    }
    options = DATABASES["default"].setdefault("OPTIONS", {})
    options.setdefault("connect_timeout", 4)
    # Milliseconds after which a connection to a host that vanished fails.
    options.setdefault("tcp_user_timeout", 10_000)
    url_options = [options["options"]] if "options" in options else []
    options["options"] = " ".join([*url_options, *(f"-c {name}={limit}" for name, limit in limits.items())])
# One for all processes: tries to sign in, and signs of life. See `people.throttle` and `importing.signs`.
CACHES = {"default": machines.cache(DATABASES["default"], DATA_DIR / "cache")}
# `manage.py work` runs the long tasks. The server keeps it running. See ratings/importing/jobs.py.
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
] + [
    {"NAME": f"ratings.people.{name}"}
    for name in ("passwords.NotOurWords", "passwords.NotBreached", "sessions.EndsWhatIsOpen")
]
BREACHED_PASSWORDS = checked_file("IDEALIST_BREACHED_PASSWORDS")
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

# Sign-in: see ratings/people/sign_in/. Its pages are those of `ratings`; no address of allauth is reachable.
OIDC = sign_in.provider()
GROUP_ROLES = sign_in.roles_of_groups()
JOIN_BY_ADDRESS = env_bool("IDEALIST_OIDC_JOIN")
PROVIDER_SECOND_FACTOR = sign_in.second_factor_at_provider()
OIDC_RSA_BITS = env_int("IDEALIST_OIDC_RSA_BITS", 2048, least=2048)
PASSWORDS = env_bool("IDEALIST_PASSWORDS", "1")
if not PASSWORDS and not OIDC:
    raise ImproperlyConfigured(
        "IDEALIST_PASSWORDS is 0 and IDEALIST_OIDC_ISSUER is missing, so nobody could sign in. Set one of them."
    )
SECOND_FACTOR = sign_in.roles_with_second_factor()
SESSION_LIMITS = sign_in.session_limits()
MAIL = sign_in.mail()  # Django's own settings of mail, which take effect by the next line
globals().update(MAIL)
if MAIL and ALLOWED_HOSTS[0].startswith(("*", ".")):
    raise ImproperlyConfigured(
        "IDEALIST_MAIL: links in mail lead to the first host of IDEALIST_HOSTS, and that is none. Write one first,"
        " as in ratings.example.org,*"
    )
PASSWORD_RESET_TIMEOUT = 3600
ACCOUNT_ADAPTER = "ratings.people.sign_in.entering.Adapter"
SOCIALACCOUNT_ADAPTER = "ratings.people.sign_in.oidc.Adapter"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ADAPTER = "ratings.people.sign_in.second_factor.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_FORMS = {
    "authenticate": "ratings.people.sign_in.second_factor.CodeForm",
    "reauthenticate": "ratings.people.sign_in.second_factor.CodeAgainForm",
}
MFA_TOTP_ISSUER = "Idealist"
MFA_TOTP_TOLERANCE = 0  # a code is valid for the 30 seconds in which the app shows it
MFA_ALLOW_UNVERIFIED_EMAIL = True
# The views of ratings count tries by ratings/people/throttle.py, so that nobody can lock others out.
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
# The pages that raters meet; all others are in English. See ratings/web/language.py.
LANGUAGES = [
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("ja", "日本語"),
    ("uk", "Українська"),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "static/"
WHITENOISE_ALLOW_ALL_ORIGINS = False  # pages of other sites have no use for these files
STATICFILES_DIRS = [BASE_DIR / "static", ("pictures", BASE_DIR / "docs" / "pictures")]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "config.storage.AppFinder",
    "config.vega.VegaBundleFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.storage.Storage"},
    **machines.files(os.environ.get("STORAGE_URL", ""), DATA_DIR),
    "backups": machines.backups(os.environ.get("IDEALIST_BACKUPS", ""), DATA_DIR),
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {
    feature: [] for feature in ("camera", "geolocation", "microphone", "payment", "usb", "interest-cohort")
}
# Besides, Django's defaults count: X-Frame-Options DENY, nosniff, same-origin for referrers and openers, and
# cookies of sessions that are HttpOnly and SameSite=Lax.
SESSION_ENGINE = "ratings.people.sessions"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "ratings.web.failures.csrf_failure"
# A browser accepts a cookie of such a name only from this host by TLS, so no sister domain can set one.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = COOKIE_PREFIX + "sessionid", COOKIE_PREFIX + "csrftoken"
MESSAGE_STORAGE = "config.messages.Messages"
if HTTPS:
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS, SECURE_HSTS_INCLUDE_SUBDOMAINS = 31_536_000, True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# By default Django prints errors only while debugging.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {
            "class": "config.logs.TextFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"class": "config.logs.JsonFormatter"},
    },
    "filters": {
        "unknown hosts": {"()": "config.logs.UnknownHosts"},
        "outages": {"()": "config.logs.Outages"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"filters": ["outages"]},
        "django.security.DisallowedHost": {"filters": ["unknown hosts"]},
        # All events of the audit, for programs that collect logs.
        "idealist.audit": {"level": "INFO" if LOG == "json" else "WARNING"},
        # It logs each request that waits for a thread.
        "waitress.queue": {"level": "ERROR"},
        # Django's own handler for `runserver` would print addresses with their keys.
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
    },
}
