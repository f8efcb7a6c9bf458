from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.decorators.http import require_POST

from .views import (
    accounts,
    audit,
    join,
    new_password,
    people,
    provider,
    second_factor,
    sessions,
    sign_in,
    sign_in_link,
    tokens,
)

urlpatterns = [
    path("accounts/sign-in/", sign_in.SignIn.as_view(), name="sign_in"),
    path("accounts/link/<str:key>/", sign_in_link.sign_in_link, name="sign_in_link"),
    path(
        "accounts/forgotten/",
        login_not_required(new_password.ForgottenPassword.as_view()),
        name="forgotten_password",
    ),
    path(
        "accounts/forgotten/<str:uidb64>/<str:token>/",
        login_not_required(new_password.NewPassword.as_view()),
        name="new_password",
    ),
    path("accounts/sign-out/", sign_in.SignOut.as_view(), name="sign_out"),
    path("accounts/provider/", provider.provider, name="provider"),
    path("accounts/provider/callback/", provider.provider_callback, name="provider_callback"),
    path("accounts/provider/sign-out/", provider.provider_sign_out, name="provider_sign_out"),
    # allauth finds the pages by these names; none of its own addresses is served.
    path("accounts/sign-in/", sign_in.SignIn.as_view(), name="account_login"),
    path("accounts/second-factor/", second_factor.Index.as_view(), name="mfa_index"),
    path("accounts/second-factor/ask/", login_not_required(second_factor.Ask.as_view()), name="mfa_authenticate"),
    path(
        "accounts/second-factor/again/password/",
        second_factor.AgainByPassword.as_view(),
        name="account_reauthenticate",
    ),
    path("accounts/second-factor/again/code/", second_factor.AgainByCode.as_view(), name="mfa_reauthenticate"),
    path(
        "accounts/second-factor/again/passkey/",
        second_factor.AgainByPasskey.as_view(),
        name="mfa_reauthenticate_webauthn",
    ),
    path("accounts/second-factor/app/", second_factor.AddApp.as_view(), name="mfa_activate_totp"),
    path(
        "accounts/second-factor/app/remove/",
        require_POST(second_factor.RemoveApp.as_view()),
        name="mfa_deactivate_totp",
    ),
    path("accounts/second-factor/passkeys/add/", second_factor.AddPasskey.as_view(), name="mfa_add_webauthn"),
    path(
        "accounts/second-factor/passkeys/<int:pk>/remove/",
        require_POST(second_factor.RemovePasskey.as_view()),
        name="mfa_remove_webauthn",
    ),
    path(
        "accounts/second-factor/codes/make/",
        require_POST(second_factor.MakeCodes.as_view()),
        name="mfa_generate_recovery_codes",
    ),
    path("accounts/password/", sign_in.ChangePassword.as_view(), name="password_change"),
    path("accounts/sessions/", sessions.sessions_page, name="sessions"),
    path("accounts/sessions/end/", sessions.end_session, name="end_session"),
    path("accounts/sessions/end-others/", sessions.end_other_sessions, name="end_other_sessions"),
    path("accounts/tokens/", tokens.tokens_page, name="tokens"),
    path("accounts/tokens/make/", tokens.make_token, name="make_token"),
    path("accounts/tokens/<int:pk>/revoke/", tokens.revoke_token, name="revoke_token"),
    path("join/<str:key>/", join.join, name="join"),
    path("all-accounts/", accounts.accounts, name="accounts"),
    path("all-accounts/<int:pk>/", accounts.account, name="account"),
    path("all-accounts/<int:pk>/save/", accounts.save_account, name="save_account"),
    path("all-accounts/<int:pk>/password/", accounts.make_password_link, name="make_password_link"),
    path("all-accounts/<int:pk>/second-factor/", accounts.remove_second_factor, name="remove_second_factor"),
    path("all-accounts/<int:pk>/delete/", accounts.delete_account, name="delete_account"),
    path("audit/", audit.audit, name="audit"),
    path("audit.csv", audit.audit_csv, name="audit_csv"),
    path("collections/<slug:slug>/people/", people.people_page, name="people"),
    path("collections/<slug:slug>/people/invite/", people.invite, name="invite"),
    path(
        "collections/<slug:slug>/people/invitations/<int:pk>/withdraw/",
        people.withdraw_invitation,
        name="withdraw_invitation",
    ),
    path(
        "collections/<slug:slug>/people/tokens/<int:pk>/revoke/",
        people.revoke_token,
        name="revoke_token_of_member",
    ),
    path("collections/<slug:slug>/people/members/<int:pk>/", people.member, name="member"),
    path("collections/<slug:slug>/people/members/<int:pk>/role/", people.set_role, name="set_role"),
    path(
        "collections/<slug:slug>/people/members/<int:pk>/sessions/end/", people.end_sessions, name="end_sessions"
    ),
    path("collections/<slug:slug>/people/members/<int:pk>/remove/", people.remove_member, name="remove_member"),
    path("collections/<slug:slug>/people/raters/<int:pk>/", people.rater_settings, name="rater_settings"),
    path("collections/<slug:slug>/people/raters/<int:pk>/terms/", people.save_terms, name="save_terms"),
    path(
        "collections/<slug:slug>/people/raters/<int:pk>/deactivate/",
        people.deactivate_rater,
        name="deactivate_rater",
    ),
    path(
        "collections/<slug:slug>/people/raters/<int:pk>/reactivate/",
        people.reactivate_rater,
        name="reactivate_rater",
    ),
    path("collections/<slug:slug>/people/raters/<int:pk>/erase/", people.erase_rater, name="erase_rater"),
]
