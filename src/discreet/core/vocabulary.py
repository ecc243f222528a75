"""Words in names of columns that say what a column holds, by theme and role: English, German, French and Spanish.

Words are without accents, in the singular, as ``text.words`` gives them. One of five letters or more also counts at the
beginning or end of a longer word, as in ``Haushaltseinkommen`` or ``birthdate``.
"""

from __future__ import annotations

from collections.abc import Iterator

from discreet.core.card import Role
from discreet.core.text import words

FREE_TEXT = "free text"
"""Theme of notes and letters."""
THEMES: dict[str, tuple[Role, str]] = {
    "an identifier": (
        Role.IDENTIFIER,
        """
        id identifier uuid guid ssn nhs nin passport account licence license username login user mrn record number
        member policy insured personnel dossier plate vin kennung kennzeichen ausweis nummer nr fallnummer
        aktenzeichen konto kontonummer sozialversicherung ahv svnr versichertennummer identifiant numero matricule
        passeport compte nir identificador dni nie nif nss pasaporte cuenta matricula expediente pid iban imei device
        cookie token
        """,
    ),
    "a name": (
        Role.IDENTIFIER,
        """
        name surname forename firstname lastname fullname nickname initials signature vorname nachname familienname
        zuname nom prenom nombre apellido
        """,
    ),
    "contact data": (
        Role.IDENTIFIER,
        """
        email mail phone telephone mobile cell fax address street ip url website handle telefon telefonnummer handy
        anschrift adresse strasse hausnummer rue courriel portable calle direccion correo telefono movil
        """,
    ),
    "biometrics": (
        Role.IDENTIFIER,
        """
        fingerprint iris retina face facial voice gait biometric photo portrait fingerabdruck gesicht stimme lichtbild
        empreinte visage huella rostro
        """,
    ),
    "health": (
        Role.SENSITIVE,
        """
        disease diagnosis diagnoses dx condition illness symptom treatment drug medication medicine therapy surgery
        operation outcome hiv aids test result sick score icd health healthy blood pressure systolic diastolic bp
        cholesterol glucose insulin sugar bmi weight obesity heart cardiac stroke hypertension diabetes diabetic
        cancer tumor tumour tumeur asthma allergy infection vaccine vaccinated vaccination pregnant pregnancy
        pregnancies birthweight disability disabled impairment smoker smoking smoke tobacco alcohol drinking drink
        addiction depression anxiety mental psychiatric suicide stress sleep pain lab labor hemoglobin creatinine
        platelet pulse temperature body survived survival death died dead deceased mortality attrition absence
        sickness injury accident icu risk severity stage comorbidity prescription dose exercise diet calories medical
        claim insurance diagnose krankheit krank befund medikament therapie behandlung operiert symptome allergie
        impfung schwanger schwangerschaft behinderung raucher rauchen gewicht blutdruck blut zucker tod verstorben
        gestorben pflege pflegegrad unfall verletzung versicherung maladie malade diagnostic traitement medicament
        grossesse enceinte handicap fumeur poids tension sang deces soins accidente enfermedad diagnostico tratamiento
        medicamento embarazo embarazada discapacidad fumador peso sangre muerte fallecido salud sante gesundheit
        """,
    ),
    "sex life": (
        Role.SENSITIVE,
        """
        affair sexual sexuality orientation intercourse contraception contraceptive abortion fertility extramarital
        gay lesbian homosexual std sexuell sexualitat sexualleben verhutung seitensprung abtreibung sexuel sexuelle
        sexualite avortement liaison orientacion sexualidad anticonceptivo aborto
        """,
    ),
    "religion": (
        Role.SENSITIVE,
        """
        religion religious religiosity faith church denomination belief god worship muslim christian jewish islam
        konfession kirche kirchensteuer glaube religios eglise croyance iglesia creencia
        """,
    ),
    "politics": (
        Role.SENSITIVE,
        """
        party partisan vote voter voted voting election political politics ideology pid candidate democrat republican
        partei wahl wahler politisch gesinnung parti electeur politique partido voto votante politica politico
        """,
    ),
    "union membership": (Role.SENSITIVE, "union unionised unionized gewerkschaft syndicat syndique sindicato"),
    "genetics": (
        Role.SENSITIVE,
        """
        gene genes genetic genotype genome dna rna snp allele mutation variant chromosome brca gentest erbgut genetik
        genetique genetico adn
        """,
    ),
    "money": (
        Role.SENSITIVE,
        """
        salary income earning wage pay paid debt credit loan mortgage balance cost charge price fare fee turnover
        revenue profit expense expenditure spending amount payment bill tax benefit welfare pension asset wealth
        capital saving checking property guarantor deposit bankruptcy default delinquency delinquent limit purchase
        sales bonus gain loss rent economic poverty gehalt einkommen lohn kosten preis betrag schulden kredit darlehen
        steuer rente vermogen guthaben umsatz erlos miete zahlung rechnung sozialhilfe salaire revenu cout prix montant
        dette impot loyer retraite facture paiement salario sueldo renta ingreso coste costo precio importe deuda
        impuesto pago alquiler saldo
        """,
    ),
    "crime": (
        Role.SENSITIVE,
        """
        crime criminal conviction convicted offence offense offender arrest arrested prison jail sentence recidivism
        felony misdemeanor charged victim fraud police straftat vorstrafe verurteilt haft gefangnis delikt opfer
        condamnation infraction peine detenu delito condena carcel preso victima
        """,
    ),
    FREE_TEXT: (
        Role.SENSITIVE,
        """
        note comment remark text description message letter history anamnesis freetext bemerkung anmerkung notiz
        kommentar freitext beschreibung text brief anamnese remarque commentaire observation texte lettre nota
        comentario observacion descripcion texto carta
        """,
    ),
    "a person's features": (
        Role.QUASI,
        """
        age birth birthdate birthday dob born yob sex gender height eye hair female male senior alter jahrgang geburt
        geburtsdatum geburtstag geboren geschlecht grosse groesse weiblich mannlich naissance sexe taille ne nee edad
        nacimiento sexo genero altura estatura
        """,
    ),
    "ethnicity": (
        Role.QUASI,
        """
        race racial ethnicity ethnic nationality citizenship citizen immigrant immigration migrant foreigner native
        language tongue tribe caste skin rasse ethnie ethnisch herkunft nationalitat staatsangehorigkeit auslander
        sprache muttersprache nationalite langue origine nacionalidad idioma lengua raza etnia
        """,
    ),
    "family": (
        Role.QUASI,
        """
        marital married marriage divorced widowed single relationship spouse husband wife partner child children kid
        dependent dependant sibling sib sibsp parent parch mother father household family cohabiting familienstand
        verheiratet ledig geschieden kind kinder haushalt familie ehe mutter vater matrimonial marie celibataire
        enfant menage famille mere pere conjoint civil casado soltero hijo hogar familia madre padre conyuge
        """,
    ),
    "education": (
        Role.QUASI,
        """
        education educ school schooling degree studies student university college grade graduate bildung schule
        abschluss ausbildung studium hochschule student etudes diplome ecole scolaire estudio educacion titulo escuela
        """,
    ),
    "work": (
        Role.QUASI,
        """
        work working worker workclass occupation profession job employer employment employed unemployed employee
        industry sector department position title hours tenure seniority company manager beruf arbeit arbeitgeber
        branche abteilung stelle tatigkeit beschaftigt arbeitslos metier emploi employeur travail chomage poste empleo
        trabajo profesion oficio puesto desempleado
        """,
    ),
    "a place": (
        Role.QUASI,
        """
        zip zipcode postcode postal plz country state county city town region district municipality province place
        location residence lives neighborhood neighbourhood alley housing house home latitude longitude lat lon lng
        gps coordinate geo census tract urban rural ticket cabin seat embarked destination ort wohnort stadt land
        kreis staat gemeinde bezirk postleitzahl kanton bundesland wohnung ville pays commune departement quartier
        lieu logement ciudad pais municipio provincia barrio lugar domicilio vivienda ward hospital clinic doctor
        physician arzt klinik krankenhaus station hopital medecin
        """,
    ),
    "a time": (
        Role.QUASI,
        """
        date day month year time timestamp admission admitted discharge discharged arrival departure appointment hired
        joined enrolled yrs aufnahme entlassung datum jahr monat zeit termin eintritt admission sortie annee mois jour
        fecha ano mes dia alta cita
        """,
    ),
    "a technical matter": (
        Role.OTHER,
        """
        version schema checksum import imported etl loaded sync synced fold split dataset batch encoding delimiter
        software firmware prufsumme importiert
        """,
    ),
}
SHARED = frozenset({"a name", "contact data"})
"""Themes of what names people and is shared by several, by chance or as a household."""
_PERSON = """
    patient person people member customer client employee student respondent participant subject user citizen
    resident insured kunde mitarbeiter versicherte patienten personen kunden bewohner personne salarie eleve cliente
    paciente persona empleado alumno
    """
PERSON = frozenset(_PERSON.split())
"""Words for whose rows these are."""
_WEAK = frozenset({"name", "nom", "nombre", "title", "text"})
"""Words that say little beside another one: the name of a city is a place."""
_NAMED = frozenset({"health", "a place", "work", "education", "money"})
"""Themes whose names and numbers are no person's."""
_COMPOUND = 5
_INDEX = [(theme, role, frozenset(said.split())) for theme, (role, said) in THEMES.items()]


def hints(name: str) -> Iterator[tuple[Role, str, str]]:
    """Roles that the name of a column speaks for, the likeliest first, each with its theme and the word."""
    said = {one for word in words(name) for one in (word, word.removesuffix("s"))}
    said -= {"number"} if "of" in said else set()  # how many there are of something
    whole = [(role, theme, sorted(said & known)) for theme, role, known in _INDEX if said & known]
    other = any(theme in _NAMED and set(hit) - _WEAK for _, theme, hit in whole)
    strong = [one for one in whole if not (other and set(one[2]) <= _WEAK)]
    yield from ((role, theme, hit[0]) for role, theme, hit in strong)
    for theme, role, known in _INDEX:
        if parts := [part for part in known if len(part) >= _COMPOUND and any(_has(one, part) for one in said)]:
            yield role, theme, max(parts, key=lambda part: (len(part), part))


def _has(word: str, part: str) -> bool:
    return word != part and (word.startswith(part) or word.endswith(part))
